/** Writes config.example.toml anew from the schema: `bun run test/config/write-example.ts`. */
import { join } from "node:path";
import { exampleConfig } from "../../src/config/example.ts";
import { projectRoot } from "../support/paths.ts";

await Bun.write(join(projectRoot, "config.example.toml"), exampleConfig());
