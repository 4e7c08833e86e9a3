/** The names of the settings, and what is misspelled of them or of their file. What each means stands in config.ts. */

const VARIABLES = [
  'LICENSING_ENV_FILE',
  'LICENSING_DATABASE_URL',
  'LICENSING_DATABASE_CONNECTIONS',
  'LICENSING_JOOMLA_ROOT',
  'LICENSING_TABLE_PREFIX',
  'LICENSING_REDIS_URL',
  'LICENSING_LISTEN',
  'LICENSING_TRUSTED_PROXIES',
  'LICENSING_PACKAGES_DIR',
  'LICENSING_ACCEL_LOCATION',
  'LICENSING_KEY_SECRET',
  'LICENSING_RATE_LIMIT',
  'LICENSING_RATE_WINDOW',
  'LICENSING_DOWNLOAD_RATE_LIMIT',
  'LICENSING_WORKERS',
  'LICENSING_LOG_LEVEL',
  'LICENSING_LOG_DAYS',
  'LICENSING_ADMIN_LISTEN',
] as const;
export type Variable = (typeof VARIABLES)[number];
export type Settings = Partial<Record<Variable, string>>;

/** Whether a name is a setting that a settings file can hold. */
export function isSetting(name: string): name is Exclude<Variable, 'LICENSING_ENV_FILE'> {
  return name !== 'LICENSING_ENV_FILE' && (VARIABLES as readonly string[]).includes(name);
}

/** A sentence for each name that is meant for this program and is none of its settings: what it may be instead. */
export function describeUnknown(names: string[]): string[] {
  return names
    .filter((name) => !(VARIABLES as readonly string[]).includes(name))
    .filter(isMeantForUs)
    .map((name) => {
      const meant = almostVariable(name) ?? closestVariable(name);
      return `${name} is not a setting of this program and is ignored. ${
        meant === undefined ? `The settings are: ${VARIABLES.join(', ')}.` : `Did you mean ${meant}?`
      }`;
    });
}

const ASSIGNMENT = /^\s*(?:export\s+)?([\w.-]+)(?:\s*=|:\s)(.*)/;

/**
 * A sentence for each line of a settings file that is meant for this program and sets nothing, or is set aside by a later
 * one. None repeats what may be a value.
 */
export function describeLines(text: string, file: string): string[] {
  const remarks: string[] = [];
  const set = new Map<string, string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const [, name, value = ''] = ASSIGNMENT.exec(line) ?? [];
    if (name !== undefined) {
      const earlier = set.get(name);
      if (isMeantForUs(name) && earlier !== undefined && earlier !== value.trim())
        remarks.push(`${name} is set twice in ${file}: what line ${i + 1} says counts.`);
      set.set(name, value.trim());
    } else if (/^\s*(?:export\s+)?LICENSING/i.test(line)) {
      const meant = VARIABLES.find((variable) => line.trim().split(/\s/).includes(variable));
      remarks.push(`Line ${i + 1} of ${file} sets nothing. It must read ${meant ?? 'NAME'}=VALUE.`);
    }
  }
  return remarks;
}

/** Whether a variable is one of this program's, perhaps misspelled. */
export function isMeantForUs(name: string): boolean {
  return name.startsWith('LICENSING_') || almostVariable(name) !== undefined;
}

/** The setting that a name is but for two characters and its letters' case, as one misspelled in its first word. */
function almostVariable(name: string): Variable | undefined {
  const most = 2;
  return VARIABLES.find(
    (variable) =>
      Math.abs(variable.length - name.length) <= most && editDistance(name.toUpperCase(), variable) <= most,
  );
}

/** The setting that a misspelled name was meant to be, unless it is like none of them. */
function closestVariable(name: string): Variable | undefined {
  const word = (variable: string) => variable.toUpperCase().slice('LICENSING_'.length);
  const [closest] = VARIABLES.map((variable) => ({
    variable,
    distance: editDistance(word(name), word(variable)),
  })).sort((a, b) => a.distance - b.distance);
  return closest && closest.distance <= word(closest.variable).length / 3 ? closest.variable : undefined;
}

/** How many characters have to be put in, taken out or changed to make one text of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, character] of Array.from(a).entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(
        Math.min(
          (next[j] as number) + 1,
          (row[j + 1] as number) + 1,
          (row[j] as number) + (character === b[j] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[b.length] as number;
}
