import type { Language } from '../language';
import type { Translated } from '../translated';
import type { kit } from './en/kit';
import type { my } from './en/my';
import type { ReplyTexts } from './reply';
import type { CustomerSentences } from './sentences';

/** All texts for customers in one language, except mails. */
export interface CustomerTexts {
  language: Language;
  kit: Translated<typeof kit>;
  my: Translated<typeof my>;
  sentences: CustomerSentences;
  reply: ReplyTexts;
}
