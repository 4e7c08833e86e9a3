/** The header in which the component in Joomla sends its ticket for `manage/overview`. */
export const TICKET_HEADER = 'x-licensing-ticket';
