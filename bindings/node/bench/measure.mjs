// Measures programs in turns. A ratio is formed within one round, so that a busy moment hits both sides.

/** How long one turn of a program takes, in nanoseconds: shorter than the time slices of busy systems. */
const TURN = 100_000
/** Calls whose code is being compiled do not count. */
const WARM_UP = 20_000

function turn(run, calls) {
  const begun = process.hrtime.bigint()
  for (let call = 0; call < calls; call++) run()
  return Number(process.hrtime.bigint() - begun) / calls
}

/** How many calls a turn of this program has. */
function calibrated(run) {
  for (let call = 0; call < WARM_UP; call++) run()
  const times = Array.from({ length: 50 }, () => turn(run, 10))
  return Math.ceil(TURN / quantile(times, 0.5))
}

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/**
 * Measures each program in microseconds per call, and as a multiple of the one named `base`: the median
 * over all rounds, with the quartiles of the multiple.
 */
export function measured(programs, base, rounds) {
  const names = Object.keys(programs)
  const calls = Object.fromEntries(names.map((name) => [name, calibrated(programs[name])]))
  const times = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times[name].push(turn(programs[name], calls[name]))
  }
  return names.map((name) => {
    const multiples = times[name].map((time, round) => time / times[base][round])
    return {
      name,
      time: quantile(times[name], 0.5) / 1000,
      multiple: quantile(multiples, 0.5),
      quartiles: [quantile(multiples, 0.25), quantile(multiples, 0.75)],
    }
  })
}
