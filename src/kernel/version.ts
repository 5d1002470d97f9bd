import { version } from "../../package.json" with { type: "json" };

/** Put in by the build; not there when the source is run. */
declare const POSTERN_COMMIT: string | undefined;

/** Postern's version, as package.json has it. */
export const VERSION: string = version;

/** The commit the binary was built from, with `-dirty` where the tree differed from it; empty where that is not known. */
export const COMMIT: string = typeof POSTERN_COMMIT === "string" ? POSTERN_COMMIT : "";
