// The types of the npm package, as a test in TypeScript sees them.
import { start, type Emulator } from "azure-table-emulator";

const emulator: Emulator = await start({ profile: "cosmos", account: ["a:c2VjcmV0"], control: 0 });
const texts: (string | undefined)[] = [emulator.connectionString, emulator.url, emulator.control];
await emulator.stop();
// @ts-expect-error: no such option
await start({ prot: emulator.port, texts });
