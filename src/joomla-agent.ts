/** How Joomla's updater names itself, and how a trial of the seller's own is told apart from it. */

/** What follows Joomla's own User-Agent in a trial: "licensing update-xml try", or "lint" with a key. */
const TRIAL = 'licensing-trial';

/** The User-Agent of a trial: Joomla's own, for whatever decides by that, and the mark. */
export function trialUserAgent(joomla: string): string {
  return `Mozilla/5.0 Joomla!/${joomla} Joomla ${TRIAL}`;
}

/** The Joomla that a User-Agent names; undefined when it is not Joomla's. */
export function joomlaVersion(userAgent: string | null): string | undefined {
  return /Joomla!\/([\w.-]+)/.exec(userAgent ?? '')?.[1];
}

export function isTrial(userAgent: string | null): boolean {
  return userAgent?.endsWith(` ${TRIAL}`) ?? false;
}
