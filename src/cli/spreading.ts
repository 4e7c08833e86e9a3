import type { Command } from 'commander';
import { reportedSiteOperations } from '../operations/reported-sites';
import { withSession } from './command';
import { operateAll } from './operate';
import { formatTable } from './tables';
import { inBothForms } from '../licensing/core/identifiers';

export function addSpreadingCommand(program: Command): void {
  program
    .command('spreading')
    .description(
      'Lists keys that may have been shared: more networks used them for downloads in 30 days than their slots explain.',
    )
    .addHelpText(
      'after',
      '\nThe service does not refuse such keys. To give the customer a new key: licensing license rekey.\n\nExample:\n  licensing spreading',
    )
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const keys = await operateAll(session, reportedSiteOperations.listSpreading);
        session.output.printList(
          keys,
          () =>
            formatTable(
              ['LICENCE', 'KEY', 'CUSTOMER', 'SLOTS', 'NETWORKS', 'AT MOST', 'LATEST', 'SITES'],
              keys.map((one) => [
                one.license_id,
                one.key_hint,
                one.customer,
                one.slots,
                one.networks,
                one.most,
                one.at,
                [...new Set(one.sites.map(({ site }) => inBothForms(site, 'domain')))]
                  .slice(0, 3)
                  .join(', ') || null,
              ]),
              'No key seems to be shared.',
            ),
          [],
        );
      }),
    );
}
