import { Type } from '@sinclair/typebox';
import { SCOPES } from '../../access/caller';
import { addToken, listTokens, revokeToken } from '../../access/tokens';
import { addedTokenJson, tokenJson } from '../../access/views';
import { list, post, remove } from './operation';
import { readEnd, readId } from './reading';
import { exactly, Id, oneOf, orNull, Paging, Text, Time, TimeGiven, TimeOrNull } from './schemas';
