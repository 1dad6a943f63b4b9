"""`python -m azure_table_emulator` runs the program."""

from azure_table_emulator import main

main()
