/**
 * Takes a CPU profile of the service that preloads it, from SIGUSR2 (sent once it has started) until the end, and
 * writes it to the file named by BENCH_PROFILE.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

process.once('SIGUSR2', () => {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  process.on('exit', () => {
    // The answer arrives before post returns, so an exit handler can write it.
    session.post('Profiler.stop', (error, answer) => {
      if (!error) writeFileSync(process.env.BENCH_PROFILE, JSON.stringify(answer.profile));
    });
  });
});
