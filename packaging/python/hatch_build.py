"""Puts the program, whose path is in AZURE_TABLE_PROGRAM, into the wheel, and names the platforms on which it runs."""

import os
import platform
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The program for Linux is static: it needs no libc, neither glibc nor musl. For macOS, the least versions that rustc
# builds for.
PLATFORMS = {
    ("Linux", "x86_64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("Linux", "aarch64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("Darwin", "x86_64"): "macosx_10_12_x86_64",
    ("Darwin", "arm64"): "macosx_11_0_arm64",
    ("Windows", "AMD64"): "win_amd64",
}


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        program = Path(os.environ["AZURE_TABLE_PROGRAM"])
        build_data["tag"] = f"py3-none-{PLATFORMS[platform.system(), platform.machine()]}"
        build_data["pure_python"] = False
        build_data["force_include"] = {program: f"azure_table_emulator/{program.name}"}
