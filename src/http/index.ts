export { type AppDeps, makeApp } from "./app.ts";
export { type Doors, openDoors } from "./doors.ts";
export { type Listening, listen, listenSocket } from "./serve.ts";
