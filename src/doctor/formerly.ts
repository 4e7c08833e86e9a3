import { KEY_REQUIRED } from '../api';
import {
  exampleAddress,
  folderOf,
  formerAddresses,
  isPackagePath,
  nameOfFormerly,
  type Formerly,
} from '../joomla/formerly/addresses';
import { countFormerRequests, type FormerRequests } from '../joomla/formerly/log';
import { formerPlace } from '../joomla/formerly/place';
import { findArsItems } from '../joomla/formerly/plan';
import { quantity } from '../quantity';
import {
  ok,
  problem,
  reasonOf,
  unchecked,
  warning,
  type CommandCheck,
  type CommandFinding,
  type Patient,
} from './finding';
import { httpGet } from './http-get';

/** Whether the addresses of the system that was used before are answered, and which of them are still asked. */

const GUIDE = 'docs/moving-in-addresses.md';

export const checkFormerly: CommandCheck = async (patient) => [
  ...(await checkAnswers(patient)),
  ...(await checkLog(patient)),
];

async function checkAnswers({ config, url, ca }: Patient): Promise<CommandFinding[]> {
  const { formerly } = config;
  if (formerly.length === 0) return [];
  if (url === undefined)
    return [
      unchecked(
        'FORMERLY',
        'The addresses of the former system (LICENSING_FORMERLY) were not asked.',
        'licensing doctor --url https://YOUR.SITE asks each once.',
      ),
    ];
  const asked = await Promise.all(
    formerly.map(async (one) => ({ name: nameOfFormerly(one), fault: await faultOf(one, url, ca) })),
  );
  const answered = asked.filter(({ fault }) => fault === undefined);
  return [
    ...(answered.length === 0
      ? []
      : [ok('FORMERLY', `${url.host} answers ${answered.map(({ name }) => name).join(', ')}.`)]),
    ...asked.flatMap(({ name, fault }) =>
      fault === undefined
        ? []
        : [
            problem(
              'FORMERLY_UNANSWERED',
              `${url.host} does not answer ${name} in place of the former system: ${fault}.`,
              {
                why: 'Sites that still ask this address get no updates.',
                remedy: `Write the web server's files again (licensing nginx, licensing apache), and reload it: ${GUIDE}.`,
              },
            ),
          ],
    ),
  ];
}

/** What is wrong with the answer to a former address; undefined: nothing. */
async function faultOf(one: Formerly, url: URL, ca: string[] | undefined): Promise<string | undefined> {
  try {
    const { status, body } = await httpGet(new URL(exampleAddress(one, folderOf(url.href)), url.origin), {
      ca,
    });
    return isAnswer(one, status, body) ? undefined : `the answer is ${status}, and another`;
  } catch (error) {
    return reasonOf(error);
  }
}

function isAnswer({ system, id }: Formerly, status: number, body: string): boolean {
  if (system === 'membershippro' || (system === 'path' && isPackagePath(id))) return body === KEY_REQUIRED;
  if (status !== 200) return false;
  return system === 'edd' ? isEddAnswer(body) : /<updates[\s/>]/.test(body);
}

function isEddAnswer(body: string): boolean {
  try {
    const { new_version: version, data } = JSON.parse(body) as { new_version?: unknown; data?: object };
    // A product without a published version has nothing to tell.
    return typeof version === 'string' || (data !== undefined && 'update_available' in data);
  } catch {
    return false;
  }
}

async function checkLog({ config, db, log }: Patient): Promise<CommandFinding[]> {
  if (log === undefined) return [];
  const { formerly } = config;
  const { items } = await findArsItems(db, formerly, formerPlace(config));
  const addresses = formerAddresses(formerly, items, folderOf(config.publicUrl));
  const found = await countFormerRequests(log.readLines(), addresses);
  const names = formerly.map(nameOfFormerly);
  const others = found.filter(({ name }) => !names.includes(name));
  const told = names.map((name) =>
    say(found.find((one) => one.name === name) ?? { name, times: 0, lastDay: null }),
  );
  return [
    ...(told.length === 0 && others.length > 0
      ? []
      : [
          ok(
            'FORMERLY_ASKED',
            `${log.name} has ${told.length === 0 ? 'no request for an address of another system' : `the addresses of the former system: ${told.join('; ')}`}.`,
          ),
        ]),
    ...(others.length === 0
      ? []
      : [
          warning(
            'FORMERLY_UNLISTED',
            `${log.name} has addresses of another system that LICENSING_FORMERLY does not name: ${others.map(say).join('; ')}.`,
            {
              why: 'Once that system no longer answers, the sites that ask them get no updates.',
              remedy: `Name them with their products: ${GUIDE}.`,
            },
          ),
        ]),
  ];
}

function say({ name, times, lastDay }: FormerRequests): string {
  if (times === 0) return `${name} not asked`;
  return `${name} ${quantity(times, 'time')}${lastDay === null ? '' : `, the last on ${lastDay}`}`;
}
