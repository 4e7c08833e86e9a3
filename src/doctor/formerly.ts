import { KEY_REQUIRED } from '../licensing/api';
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
import type { OperatorTexts } from '../texts/operators/texts';
import {
  runCheck,
  ok,
  problem,
  shortReason,
  unchecked,
  warning,
  type Check,
  type CheckFinding,
  type CheckContext,
} from './finding';
import { AS_JOOMLA, challengeOf, httpGet } from './http-get';

/** Checks the legacy URLs of the former system: whether they are answered, and which of them are still requested. */

export const checkFormerly: Check = async (patient) => [
  ...(await runCheck('FORMERLY', () => checkAnswers(patient))),
  ...(await checkLog(patient)),
];

async function checkAnswers({ config, url, ca }: CheckContext): Promise<CheckFinding[]> {
  const { formerly } = config;
  if (formerly.length === 0) return [];
  if (url === undefined) return [unchecked('FORMERLY', ({ formerly: t }) => t.notAsked)];
  const asked = await Promise.all(
    formerly.map(async (one) => ({ name: nameOfFormerly(one), fault: await faultOf(one, url, ca) })),
  );
  const answered = asked.filter(({ fault }) => fault === undefined).map(({ name }) => name);
  return [
    ...(answered.length === 0
      ? []
      : [ok('FORMERLY', ({ formerly: t }) => t.answers(url.host, answered.join(', ')))]),
    ...asked.flatMap(({ name, fault }) =>
      fault === undefined
        ? []
        : [
            problem('FORMERLY_UNANSWERED', ({ formerly: t }) =>
              t.unanswered(url.host, name, fault.status, fault.said),
            ),
          ],
    ),
  ];
}

/** Returns the fault in the answer of a legacy URL; undefined if it has no fault. */
async function faultOf(
  one: Formerly,
  url: URL,
  ca: string[] | undefined,
): Promise<{ status: number | undefined; said: string | undefined } | undefined> {
  try {
    const address = new URL(exampleAddress(one, folderOf(url.href)), url.origin);
    const { status, body } = await httpGet(address, { ...AS_JOOMLA, ca });
    return isAnswer(one, status, body) ? undefined : { status, said: undefined };
  } catch (error) {
    if (challengeOf(error) !== undefined) throw error;
    return { status: undefined, said: shortReason(error) };
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
    // A product without a published version has no version to report.
    return typeof version === 'string' || (data !== undefined && 'update_available' in data);
  } catch {
    return false;
  }
}

async function checkLog({ config, db, log }: CheckContext): Promise<CheckFinding[]> {
  if (log === undefined) return [];
  const { formerly } = config;
  const { items } = await findArsItems(db, formerly, formerPlace(config));
  const addresses = formerAddresses(formerly, items, folderOf(config.publicUrl));
  const found = await countFormerRequests(log.readLines(), addresses);
  const names = formerly.map(nameOfFormerly);
  const others = found.filter(({ name }) => !names.includes(name));
  const told = names.map(
    (name) => found.find((one) => one.name === name) ?? { name, times: 0, lastDay: null },
  );
  const say = (t: OperatorTexts['doctor']['formerly'], all: FormerRequests[]) =>
    all.map(({ name, times, lastDay }) => t.times(name, times, lastDay)).join('; ');
  return [
    ...(told.length === 0 && others.length > 0
      ? []
      : [
          ok('FORMERLY_ASKED', ({ formerly: t }) =>
            told.length === 0 ? t.noneAsked(log.name) : t.asked(log.name, say(t, told)),
          ),
        ]),
    ...(others.length === 0
      ? []
      : [warning('FORMERLY_UNLISTED', ({ formerly: t }) => t.unlisted(log.name, say(t, others)))]),
  ];
}
