import { doctor as english } from '../texts/operators/en/doctor';
import { list } from './kit/operation';
import { enumOf, strictObject, Text } from './kit/schemas';

export const doctorOperations = {
  examine: list(
    '/doctor',
    {
      summary: 'Check the installation, to the extent that the service can',
      data: strictObject(
        { id: Text, state: enumOf(['ok', 'warning', 'problem']), message: Text },
        { title: 'Finding' },
      ),
      hasDeadline: false,
    },
    async ({ settings }) => {
      const findings = await settings.examine();
      return {
        data: findings.map(({ id, state, say }) => ({ id, state, message: say(english).what })),
        next: null,
      };
    },
  ),
};
