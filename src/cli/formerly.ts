import { Option } from 'commander';
import type { Config } from '../settings/config';
import {
  folderOf,
  readFormerly,
  requireDifferent,
  writeFormerly,
  type Formerly,
} from '../joomla/formerly/addresses';
import { planFormerly, type FormerPlan } from '../joomla/formerly/plan';
import { formerPlace } from '../joomla/formerly/place';
import { readEffective } from '../settings/stored';
import { asUsageError } from './arguments';
import type { Output } from './command';
import { withCurrentDatabase } from '../setup/database';

/** The option `--formerly` of `nginx` and `apache`. */

export interface FormerlyOptions {
  formerly?: Formerly[];
}

export function formerlyOption(): Option {
  return new Option(
    '--formerly <system=id:product>',
    'also answer an address of a former system: ars=STREAM:42, membershippro=DOCUMENT:42, edd=DOWNLOAD:42, or path=/old/updates.xml:42; may be repeated; default: the addresses in LICENSING_FORMERLY',
  ).argParser((text: string, before: Formerly[] | undefined) =>
    asUsageError(() => requireDifferent([...(before ?? []), readFormerly(text)])),
  );
}

/**
 * Plans the answers to a former system's addresses, with the site's address; undefined without such a system.
 * @throws OperatorError
 */
export async function planFormerUrls(
  config: Config,
  given: Formerly[] | undefined,
  output: Output,
): Promise<(FormerPlan & { siteUrl: string | undefined }) | undefined> {
  const list = given ?? config.formerly;
  if (list.length === 0) return undefined;
  const plan = await withCurrentDatabase(config, async (db) => {
    const home = await readEffective(db, config);
    const folder = folderOf(home.publicUrl);
    const made = await planFormerly(db, list, { home, place: formerPlace(home), folder });
    return { ...made, siteUrl: home.publicUrl };
  });
  for (const remark of plan.remarks) output.note(remark);
  const named = (these: Formerly[]) => these.map(writeFormerly).sort().join(',');
  if (named(list) !== named(config.formerly))
    output.note(
      `Set LICENSING_FORMERLY=${list.map(writeFormerly).join(',')} in ${config.envFile ?? '.env'}: the doctor and the next run of this command read it there.`,
    );
  return plan;
}
