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
      'Each counts once: by the address that it told, else by its key and network. Of checks, the latest of a licence counts where nothing else tells of its sites.',
  }),
  answered: Type.Integer({ minimum: 0, description: 'Those whose latest request was.' }),
  refused: Count,
  refusals: Type.Array(strictObject({ code: Text, sites: Count }), {
    description: 'Why; the most frequent first. A former system does not say.',
  }),
};

const MoveInSchema = strictObject(
  {
    days: Count,
    now: strictObject({
      ...asked,
      more: Type.Boolean({ description: 'There were more sites than are counted.' }),
    }),
    before: Type.Array(
      strictObject({ source: enumOf(['ars', 'membershippro']), from: Time, to: Time, ...asked }),
      {
        description: "The last days of a former system's own log, where the service may read one.",
      },
    ),
    unknown_keys: Type.Array(
      strictObject({
        key_hint: Type.String({
          description: 'The end of a key that was asked for and that no licence has.',
        }),
        times: Count,
        sites: Count,
        at: Time,
        nearest: Type.Array(
          strictObject({
            license_id: Id,
            customer: TextOrNull,
            slip: Type.String({ description: 'How the key that was sent differs from that of the licence.' }),
          }),
          { description: 'The licences that it may be meant for, the likeliest first.' },
        ),
      }),
      { description: 'Those of the most sites first, at most 50.' },
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
      summary: 'How customers’ sites fare after a move from another system',
      description:
        'Of the sites that asked in the last 30 days, how many were answered and refused, beside the last days of the former system; and the unknown keys that were asked for.',
      data: MoveInSchema,
      hasDeadline: false,
    },
    async ({ db, settings, now }) => ({ data: moveInJson(await readMoveIn(db, settings.config, now)) }),
  ),
};
