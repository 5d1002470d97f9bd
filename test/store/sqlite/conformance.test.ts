import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { tempDir } from "../../support/tmp.ts";
import { storeConformance } from "../conformance.ts";

storeConformance("SQLite", {
  open: (dataDir, clock) => openSqliteStore({ dataDir, clock, reserveBytes: 0 }),
  newPlace: () => tempDir("store"),
});
