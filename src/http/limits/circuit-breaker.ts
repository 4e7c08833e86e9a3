/** A circuit breaker for a server that counts limits. While isAway() is true, callers count in memory instead. */
export interface CircuitBreaker {
  isAway: () => boolean;
  /** Opens the circuit after a failed command, until a probe succeeds. */
  setAway: (error: unknown) => void;
  /** Sets the probe, which runs every second while the server is away. */
  watch: (probe: () => Promise<unknown>) => void;
  /** Probes the server now, for callers that make no requests. */
  look: () => Promise<void>;
  stop: () => void;
}

const PROBE_EVERY_MS = 1_000;

/** Creates the circuit breaker. @param onChange called when the server goes away and when it returns */
export function createCircuitBreaker(onChange: (away: boolean, error?: unknown) => void): CircuitBreaker {
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
