import type { Language } from '../language';
import type { Translated } from '../translated';
import type { kit } from './en/kit';
import type { my } from './en/my';
import type { ReplyTexts } from './reply';
import type { CustomerSentences } from './sentences';

/** All that customers read in one language, besides mails. */
export interface CustomerTexts {
  language: Language;
  kit: Translated<typeof kit>;
  my: Translated<typeof my>;
  sentences: CustomerSentences;
  reply: ReplyTexts;
}
