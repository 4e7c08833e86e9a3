/**
 * Imported by a service before anything else: from SIGUSR2 on, which says that it has started, it takes a CPU profile,
 * and writes it at the end to the file BENCH_PROFILE names.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

process.once('SIGUSR2', () => {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  process.on('exit', () => {
    // The answer comes before post returns, so there is time for it here.
    session.post('Profiler.stop', (error, answer) => {
      if (!error) writeFileSync(process.env.BENCH_PROFILE, JSON.stringify(answer.profile));
    });
  });
});
