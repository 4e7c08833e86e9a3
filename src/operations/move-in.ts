import { Type } from '@sinclair/typebox';
import { formatTimestamp } from '../base/days';
import { readMoveIn, type MoveIn, type SitesAsked } from '../overview/move-in';
import { get } from './kit/operation';
import { strictObject, Id, enumOf, Text, TextOrNull, Time } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });

const asked = {
  sites: Type.Integer({
    minimum: 0,
    description:
      'The number of sites. A site is recognized by the address that it reported, otherwise by its key and network. If a licence has only checks, its latest check counts as one site.',
  }),
  answered: Type.Integer({ minimum: 0, description: 'Sites whose latest request was answered.' }),
  refused: Count,
  refusals: Type.Array(strictObject({ code: Text, sites: Count }), {
    description: 'The reasons, most frequent first. A former system does not record them.',
  }),
};

const MoveInSchema = strictObject(
  {
    days: Count,
    now: strictObject({
      ...asked,
      more: Type.Boolean({ description: 'More sites sent requests than are counted.' }),
    }),
    before: Type.Array(
      strictObject({ source: enumOf(['ars', 'membershippro']), from: Time, to: Time, ...asked }),
      {
        description: "The last days in the former system's own log, if the service may read it.",
      },
    ),
    unknown_keys: Type.Array(
      strictObject({
        key_hint: Type.String({
          description: 'The end of the unknown key.',
        }),
        times: Count,
        sites: Count,
        at: Time,
        nearest: Type.Array(
          strictObject({
            license_id: Id,
            customer: TextOrNull,
            slip: Type.String({
              description: 'How the key that was sent differs from the key of the licence.',
            }),
          }),
          { description: 'The licences that it may be meant for, likeliest first.' },
        ),
      }),
      { description: 'At most 50, with those that most sites sent first.' },
    ),
  },
  { title: 'MoveIn' },
);

const askedJson = ({ sites, answered, refused, refusals }: SitesAsked) => ({
  sites,
  answered,
  refused,
  refusals,
});

const moveInJson = ({ days, now, before, unknownKeys }: MoveIn) => ({
  days,
  now: { ...askedJson(now), more: now.more },
  before: before.map(({ source, from, to, ...counts }) => ({
    source,
    from: formatTimestamp(from),
    to: formatTimestamp(to),
    ...askedJson(counts),
  })),
  unknown_keys: unknownKeys.map(({ keyHint, times, sites, at, nearest }) => ({
    key_hint: keyHint,
    times,
    sites,
    at: formatTimestamp(at),
    nearest: nearest.map(({ license, slip }) => ({
      license_id: license.id,
      customer: license.customer,
      slip,
    })),
  })),
});

export const moveInOperations = {
  getMoveIn: get(
    '/move-in',
    {
      summary: 'Check how a move from another system went',
      description:
        'How many of the sites that sent a request in the last 30 days were answered or refused, the same figures for the last days of the former system, and the unknown keys that sites sent.',
      data: MoveInSchema,
      hasDeadline: false,
    },
    async ({ db, settings, now }) => ({ data: moveInJson(await readMoveIn(db, settings.config, now)) }),
  ),
};
