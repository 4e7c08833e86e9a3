import { Type } from '@sinclair/typebox';
import { readUpdateXmlState, setUpdateXmlOptions } from '../../joomla/follow-xml';
import { get, put } from './operation';
import { readId } from './reading';
import { exactly, orNull, TextOrNull } from './schemas';
import { UpdateXmlState } from './things';
