export { type Arrival, type IngestDeps, ingest } from "./ingest.ts";
export { providerFor, SOURCE_KINDS } from "./providers/index.ts";
export { Rejections } from "./rejections.ts";
export { fieldsOf, SourceFields, type SourceSettings, sourceSettings } from "./source-settings.ts";
export { type NewSource, type Source, Sources } from "./sources.ts";
