import type { OperatorTexts } from '../texts';
import { german as language } from '../../customers/de/words';
import { answer } from './answer';
import { common } from './common';
import { csv } from './csv';
import { customers } from './customers';
import { doctor } from './doctor';
import { failures } from './failures';
import { found } from './found';
import { history } from './history';
import { joomlaSays } from './joomla-says';
import { license } from './license';
import { licenses } from './licenses';
import { moveIn } from './move-in';
import { moved } from './moved';
import { needsYou } from './needs-you';
import { orders } from './orders';
import { overview } from './overview';
import { products } from './products';
import { releases } from './releases';
import { remedy } from './remedy';
import { renewals } from './renewals';
import { requests } from './requests';
import { said } from './said';
import { search } from './search';
import { settings } from './settings';
import { signIn } from './sign-in';
import { start } from './start';
import { support } from './support';
import { system } from './system';
import { told } from './told';
import { webhooks } from './webhooks';
import { whatHappened } from './what-happened';
import { worksNow } from './works-now';

export const german: OperatorTexts = {
  language,
  answer,
  common,
  csv,
  customers,
  doctor,
  failures,
  found,
  history,
  joomlaSays,
  license,
  licenses,
  moveIn,
  moved,
  needsYou,
  orders,
  overview,
  products,
  releases,
  remedy,
  renewals,
  requests,
  said,
  search,
  settings,
  signIn,
  start,
  support,
  system,
  told,
  webhooks,
  whatHappened,
  worksNow,
};
