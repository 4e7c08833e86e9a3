export const license = {
  title: 'Licence',
};
