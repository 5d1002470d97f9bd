import { expect, test } from "bun:test";
import { Daemon } from "../support/daemon.ts";
import { needsBinary, withReason } from "../support/needs.ts";
import { blobsIn, compare, integrity, resolveOpen } from "./crash/check.ts";
import { killDuringStart, killDuringStop } from "./crash/kill.ts";
import { Ledger } from "./crash/ledger.ts";
import { type Kind, prepare, type Target, work } from "./crash/load.ts";
import { Random } from "./crash/random.ts";

const ROUNDS = Number(process.env.POSTERN_CRASH_ROUNDS ?? 50);
const SEED = Number(process.env.POSTERN_CRASH_SEED ?? Date.now() % 1_000_000);

/** So many rounds are spent on one folder before a new one begins. */
const ROUNDS_A_FOLDER = 10;

/** A start takes about this long; kills during one are spread over it. */
const START_MS = 250;

const totals = { rounds: 0, accepted: 0, duplicates: 0, acks: 0, settles: 0, leases: 0, leaseChecks: 0, bodies: 0 };
const starts: number[] = [];

async function timedStart(daemon: Daemon): Promise<void> {
  const began = performance.now();
  await daemon.start();
  starts.push(performance.now() - began);
}

/** Load, a kill somewhere in it, and the copy's check; sometimes another kill while the daemon gets up again. */
async function round(daemon: Daemon, target: Target, ledger: Ledger, random: Random, number: number): Promise<void> {
  const kind: Kind = number % 5 === 4 ? "bulk" : "mixed";
  const working = work(daemon, target, ledger, random, kind);
  await Bun.sleep(random.between(20, kind === "bulk" ? 900 : 500));
  if (number % 4 === 3) await killDuringStop(daemon, random);
  else await daemon.kill9();
  await working;
  expect(integrity(daemon.dataDir)).toBe("ok");
  if (number % 3 === 2) await killDuringStart(daemon, random.between(0, START_MS));
}

/** Some rounds on a folder of their own; answers what was wrong. */
async function folder(random: Random, rounds: number): Promise<string[]> {
  const daemon = new Daemon({});
  for (let kills = random.between(0, 3); kills > 0; kills--) {
    await killDuringStart(daemon, random.between(0, START_MS));
    expect(integrity(daemon.dataDir)).toBe("ok");
  }
  await timedStart(daemon);
  const target = await prepare(daemon);
  const ledger = new Ledger();
  for (let number = 0; number < rounds && ledger.wrong.length === 0; number++) {
    await round(daemon, target, ledger, random, number);
    await timedStart(daemon);
    await resolveOpen(daemon, target, ledger);
    await compare(daemon, target, ledger);
    totals.rounds++;
  }
  await strayBlobs(daemon, ledger);
  for (const name of Object.keys(ledger.counts) as (keyof typeof ledger.counts)[]) totals[name] += ledger.counts[name];
  await daemon.stop();
  return ledger.wrong;
}

/** What a kill left between a blob and its event is cleared after the next start. */
async function strayBlobs(daemon: Daemon, ledger: Ledger): Promise<void> {
  await daemon.restart();
  const apart = [...ledger.events.values()].filter(({ delivery }) => delivery.body.length > 262_144).length;
  const deadline = performance.now() + 5000;
  while (blobsIn(daemon.dataDir) !== apart && performance.now() < deadline) await Bun.sleep(20);
  const left = blobsIn(daemon.dataDir);
  if (left !== apart) ledger.wrong.push(`${apart} events have a body apart, ${left} blobs are there`);
}

test.skipIf(needsBinary().skip)(
  withReason(`${ROUNDS} kills lose nothing that was answered, and make nothing twice`, needsBinary()),
  async () => {
    const random = new Random(SEED);
    for (let done = 0; done < ROUNDS; done += ROUNDS_A_FOLDER) {
      const wrong = await folder(random, Math.min(ROUNDS_A_FOLDER, ROUNDS - done));
      expect(wrong, `seed ${SEED}, rounds ${done} to ${done + ROUNDS_A_FOLDER}`).toEqual([]);
    }
    starts.sort((a, b) => a - b);
    const ms = (share: number) => Math.round(starts[Math.floor((starts.length - 1) * share)] ?? 0);
    console.log(`seed ${SEED}: ${JSON.stringify(totals)}; starts: median ${ms(0.5)} ms, longest ${ms(1)} ms`);
  },
  60_000 + ROUNDS * 10_000,
);
