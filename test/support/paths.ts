import { join } from "node:path";

/** The checkout's folder. */
export const projectRoot = join(import.meta.dir, "../..");

/** The built binary, which `bun run build` makes. */
export const binaryPath = join(projectRoot, "dist/postern");
