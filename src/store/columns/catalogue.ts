import { Type } from '@sinclair/typebox';
import { ACTIVATION_TYPES, AFTER_EXPIRY, MAX_UINT32, SECURITY_BRANCHES } from '../words';
import {
  AddressOrNull,
  Label,
  Limit,
  ofKind,
  enumOf,
  nullable,
  SmallId,
  Time,
  textEnum,
  type FieldsFrom,
} from './kinds';

/** The columns of a product that the API answers with. */
export const PRODUCT = {
  id: SmallId,
  name: Label,
  element: nullable(
    ofKind('element', Type.String({ description: "Joomla's name for the extension, such as pkg_example." })),
  ),
  renew_url: AddressOrNull,
  support_url: AddressOrNull,
  reminders: Type.Boolean({
    description:
      'Reminds customers by mail 30 and 7 days before the end of a licence, and when it ends. Off by default.',
  }),
  support_until: nullable(
    ofKind(
      'month',
      Type.String({
        description: 'The last month with security updates. null: not stated.',
        examples: ['2031-12'],
      }),
    ),
  ),
  security_branch: enumOf(SECURITY_BRANCHES, {
    description:
      'The versions that form one branch: the same first two numbers (`minor`), the same first number (`major`), or all versions (`any`).',
  }),
  created_at: Time,
};

/** The columns that the API does not show. With `includes_all`, a product includes every product that includes none itself. */
export const PRODUCT_INSIDE = {
  includes_all: Type.Boolean(),
  update_xml: nullable(ofKind('json', Type.String())),
};

/** A product without the settings of its update XML, which few callers need. */
export type Product = Omit<FieldsFrom<typeof PRODUCT & typeof PRODUCT_INSIDE>, 'updateXml'>;

/** The columns of a plan. The API answers with all of them. */
export const PLAN = {
  id: SmallId,
  product_id: SmallId,
  name: Label,
  activation_type: textEnum(ACTIVATION_TYPES, { description: 'The thing that takes a slot.' }),
  activation_limit: Limit,
  duration: nullable(
    ofKind(
      'duration',
      Type.String({
        description: 'The term of a licence, such as 1y. null: it never ends.',
        examples: ['1y'],
      }),
    ),
  ),
  after_expiry: enumOf(AFTER_EXPIRY, {
    description: 'The versions that an expired licence may still download.',
  }),
  free_staging: Type.Boolean({ description: 'Local and staging sites take no slot.' }),
  self_service_moves: Type.Integer({
    minimum: 0,
    maximum: MAX_UINT32,
    description: "The number of sites that customers may remove on the customer's page within 30 days.",
  }),
  upgrade_url: {
    ...AddressOrNull,
    description:
      'Where customers get a larger licence: an https address of at most 500 characters. It is shown when no slot is free or a product is not covered. null: nowhere.',
  },
  created_at: Time,
};

export type Plan = FieldsFrom<typeof PLAN>;
export type AfterExpiry = Plan['afterExpiry'];

/** The options of a plan, in addition to its slots and duration. */
export type PlanOptions = Pick<Plan, 'afterExpiry' | 'freeStaging' | 'selfServiceMoves' | 'upgradeUrl'>;
