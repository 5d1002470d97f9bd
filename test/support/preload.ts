import { afterAll } from "bun:test";
import { runCleanups } from "./cleanup.ts";

// Bun runs this file before the first test file, and this hook after the last one. A hook that a helper sets inside a
// test or another hook would run as soon as that one is over.
afterAll(runCleanups);

// Bun's fetch goes through a proxy of the environment even to the loopback address.
process.env.NO_PROXY = "*";
