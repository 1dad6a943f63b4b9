// In place of Azurite's file of this name: each suite gets an azure-table-emulator of its own, on the port that it expects.

import { ChildProcess, spawn } from "child_process";
import { once } from "events";
import { openSync } from "fs";
import { createInterface } from "readline";

// Those of the service's application, and of the account in each cloud.
const AUDIENCES = [
  "https://storage.azure.com",
  "e406a681-f3d4-42a8-90b6-c2b029497af1",
  ...["windows.net", "chinacloudapi.cn", "usgovcloudapi.net", "cloudapi.de"].map(
    cloud => `https://devstoreaccount1.table.core.${cloud}`
  )
];

export interface ITableTestServerFactoryParams {
  https: boolean;
  oauth?: string;
}

export class EmulatorServer {
  public readonly config = { host: "127.0.0.1", port: 11002 };
  private process?: ChildProcess;

  public constructor(private readonly options: string[]) {}

  public async start(): Promise<void> {
    const log = openSync(process.env.AZURE_TABLE_FOREIGN_LOG!, "a");
    const child = spawn(
      process.env.AZURE_TABLE_FOREIGN_PROGRAM!,
      ["--ready-json", "--port", String(this.config.port), ...this.options],
      { stdio: ["ignore", "pipe", log] }
    );
    this.process = child;
    const ended = once(child, "exit").then(([code]) => `it ended with ${code} before it was ready`);
    const ready = once(createInterface(child.stdout!), "line").then(() => undefined);
    const why = await Promise.race([ready, ended]);
    if (why !== undefined) {
      throw new Error(why);
    }
  }

  public async close(): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (child !== undefined && child.exitCode === null) {
      child.kill();
      await once(child, "exit");
    }
  }

  public async clean(): Promise<void> {}
}

export default class TableTestServerFactory {
  public static inMemoryPersistence(): boolean {
    return true;
  }

  // The suite of tokens passes its values one by one.
  public createServer(
    params: ITableTestServerFactoryParams | boolean,
    _skipApiVersionCheck = false,
    https = false,
    oauth?: string
  ): EmulatorServer {
    const wanted = typeof params === "boolean" ? { https, oauth } : params;
    const options: string[] = [];
    if (wanted.https) {
      options.push("--certificate", "tests/server.cert", "--key", "tests/server.key");
    }
    if (wanted.https && wanted.oauth !== undefined) {
      options.push(...AUDIENCES.flatMap(audience => ["--token-audience", audience]));
    }
    return new EmulatorServer(options);
  }
}
