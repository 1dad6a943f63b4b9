/** The options of the program, which `azure-table-emulator --help` explains. */
export interface Options {
  /** Port to listen on; by default any free one. */
  port?: number;
  host?: string;
  /** Further accounts, as `NAME:@FILE`. */
  account?: string | readonly string[];
  profile?: "storage" | "cosmos";
  strictVersions?: boolean;
  /** In milliseconds. */
  timestampSkew?: number;
  /** The seed of the worst that the service may do. */
  adverse?: number;
  /** Folder of the tables; by default they are in memory. */
  data?: string;
  sync?: "always" | "interval" | "never";
  snapshot?: string;
  certificate?: string;
  key?: string;
  tokenAudience?: string | readonly string[];
  /** Port of the control API; 0 for any free one. */
  control?: number;
  controlHost?: string;
  controlName?: string | readonly string[];
  /** Number of requests that its log keeps. */
  controlRequests?: number;
  /** As `@FILE`. */
  controlToken?: string;
  maxConnections?: number;
  /** In MiB. */
  maxBodies?: number;
  /** Time limit for the parts of a request, in seconds. */
  timeout?: number;
  /** Path of another program than the one in this package. */
  program?: string;
}

/** A running emulator. It also stops when this process ends, however it ends. */
export interface Emulator {
  /**
   * Connection string of the account `devstoreaccount1`. It never contains a key that the option `account` set: its
   * `AccountKey` is then the text `<the key you gave>`.
   */
  readonly connectionString: string;
  /** URL of that account. */
  readonly url: string;
  readonly port: number;
  /** URL of the control API, with the option `control`. */
  readonly control?: string;
  /**
   * Stops the program and waits for its end. Rejects if it ended with an error, for example if its tables could not be
   * stored, or was killed. A program that SIGTERM stopped before is no error.
   */
  stop(): Promise<void>;
}

/** Starts an emulator, and waits until it listens. Rejects with the reason if it cannot. */
export function start(options?: Options): Promise<Emulator>;
