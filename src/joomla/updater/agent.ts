/** A trial ("licensing update-xml try", or "lint" with a key) appends this to Joomla's own User-Agent. */
const TRIAL = 'licensing-trial';

/** Returns the User-Agent of a trial: Joomla's own, because servers may decide by it, plus the mark. */
export function simulationUserAgent(joomla: string): string {
  return `Mozilla/5.0 Joomla!/${joomla} Joomla ${TRIAL}`;
}

/** Returns the Joomla version in a User-Agent; undefined if it is not Joomla's. */
export function joomlaVersion(userAgent: string | null): string | undefined {
  return /Joomla!\/([\w.-]+)/.exec(userAgent ?? '')?.[1];
}

export function isSimulation(userAgent: string | null): boolean {
  return userAgent?.endsWith(` ${TRIAL}`) ?? false;
}
