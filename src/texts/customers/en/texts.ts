import type { CustomerTexts } from '../texts';
import { kit } from './kit';
import { my } from './my';
import { reply } from './reply';
import { sentences } from './sentences';
import { english as language } from './words';

export const english: CustomerTexts = { language, kit, my, sentences, reply };
