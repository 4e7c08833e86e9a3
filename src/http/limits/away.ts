/** A server that counts limits, and may be away at any time: check isAway() and count in memory meanwhile. */
export interface Standing {
  isAway: () => boolean;
  /** For a failed command: the server counts as away until a probe succeeds. */
  setAway: (error: unknown) => void;
  /** While it is away, runs `probe` every second until it succeeds. */
  watch: (probe: () => Promise<unknown>) => void;
  /** Runs the probe now, for callers that make no requests. */
  look: () => Promise<void>;
  stop: () => void;
}

const PROBE_EVERY_MS = 1_000;

/** @param onChange runs when the server goes away, and when it comes back */
export function createStanding(onChange: (away: boolean, error?: unknown) => void): Standing {
  let away = false;
  let probing: NodeJS.Timeout | undefined;
  let probe: () => Promise<unknown> = () => Promise.resolve();

  function setAway(error: unknown): void {
    if (away) return;
    away = true;
    onChange(true, error);
    probing = setInterval(() => {
      probe().then(
        () => {
          if (!away) return;
          away = false;
          clearInterval(probing);
          onChange(false);
        },
        () => undefined,
      );
    }, PROBE_EVERY_MS).unref();
  }

  return {
    isAway: () => away,
    setAway,
    watch(next) {
      probe = next;
    },
    look: () => probe().then(() => undefined, setAway),
    stop: () => clearInterval(probing),
  };
}
