// Results with every list of web/README.md in them, small and always the same. The numbers mean nothing.

const range = (count) => Array.from({ length: count }, (_, k) => k);
const methods = ['direct', 'linear', 'mixture', 'default', 'adam', 'adamw', 'ivon', 'laplace'];

// Park and Miller's generator: the same numbers in every run.
let state = 1;
function random() {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
}
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

function band(names, outputs) {
  return names.flatMap((method, m) =>
    outputs.flatMap((output, k) =>
      range(61).map((i) => {
        const x = -4 + i / 7.5;
        const truth = Math.sin(1.5 * x + k) + 0.2 * x;
        const deviation = 0.2 + 0.25 * (m % 4) * Math.max(0, Math.abs(x + 0.5) - 2) ** (m === 6 ? 6 : 1.5);
        const mean = truth + 0.1 * Math.cos(3 * x + m);
        return { method, output, x, mean, lower: mean - 2 * deviation, upper: mean + 2 * deviation, truth };
      }),
    ),
  );
}

function points(outputs) {
  return outputs.flatMap((output, k) =>
    range(60).map(() => {
      const x = -2.5 + 4 * random();
      return { output, x, y: Math.sin(1.5 * x + k) + 0.2 * x + 0.2 * normal() };
    }),
  );
}

const convergence = (names) =>
  names.flatMap((method, m) => range(m < 4 ? 16 : 200).map((e) => ({ method, epoch: e + 1, train_nll: -0.1 + 14 / (1 + e) ** (1.6 - m / 10) })));

const weights = () =>
  [[8, 6], [6, 5], [5, 1]].flatMap(([inputs, units], layer) =>
    range(inputs).flatMap((input) =>
      range(units).map((unit) => ({ method: 'linear', layer: layer + 1, unit: unit + 1, input: input + 1, mean: normal(), std: 0.1 + random() })),
    ),
  );

const calibration = (names) =>
  names.flatMap((method, m) =>
    ['inside', 'outside'].flatMap((region) =>
      range(19).map((k) => {
        const level = (k + 1) / 20;
        return { method, region, level, coverage: level ** (region === 'inside' ? 1 : 0.5 + m / 3) };
      }),
    ),
  );

const tasks = (names) =>
  names.flatMap((method, m) =>
    range(40).map((seed) => ({
      method,
      seed: seed + 1,
      extrapolation_nll: m > 4 && seed === 7 ? null : 0.3 * m + Math.exp((0.6 + 0.25 * m) * normal()) - 0.8,
      calibration_delta: 0.1 * normal(),
    })),
  );

const sweep = () =>
  [0.001, 0.01, 0.1, 1].flatMap((learning_rate, a) =>
    [0.9, 0.99, 0.999].flatMap((beta2, b) =>
      [0.1, 1, 10].map((damping, c) => ({
        learning_rate,
        beta2,
        damping,
        least_nll: a + b + c === 6 ? null : 0.2 + Math.abs(a - 1) + 0.3 * b,
        last_nll: a === 3 ? null : 0.4 + 4 * Math.abs(a - 1) + 0.5 * c,
      })),
    ),
  );

const times = (names) =>
  ['training', 'prediction'].flatMap((what, w) => names.map((method, m) => ({ method, what, milliseconds: 3 ** (m + 1) / (1 + 20 * w) })));

const marginals = () =>
  ['nominal', 'stress'].flatMap((setting, s) =>
    ['x', 'y', 'z'].flatMap((variable, v) =>
      ['exact', 'direct', 'linear', 'ep'].flatMap((method, m) =>
        range(41).map((k) => {
          const x = -4 + k / 5;
          return { setting, variable, method, x: x + v, density: Math.exp(-((x - m / 10) ** 2) / (2 + s)) / Math.sqrt(Math.PI * (2 + s)) };
        }),
      ),
    ),
  );

const pit = () => ['inside', 'outside'].flatMap((region, r) => range(10).map((k) => ({ region, low: k / 10, high: (k + 1) / 10, share: 0.1 + (r ? 0.002 : 0.005) * (k - 4.5) })));

const training = () => range(4).flatMap((member) => range(30).map((e) => ({ member: member + 1, shape: member < 2 ? '20' : '20-20', epoch: e + 1, nll: 1.8 + (2 + member / 4) / (e + 1) })));

const valueOf = {
  numeric: (i) => 2004 + 3 * i,
  whole: (i) => i + 1,
  datetime: (i) => `2026-03-${String(i + 1).padStart(2, '0')}`,
  categorical: (i) => ['by the river', 'in town', 'outside', 'elsewhere'][i],
  cities: (i) => ['Montevideo', 'Buenos Aires', 'Saint Petersburg', 'Rio de Janeiro'][i % 4] + ` ${i}`,
};
const countOf = { categorical: 4, whole: 6, cities: 20 };

const response = () =>
  [['rooms', 'whole'], ['age', 'numeric'], ['tax', 'numeric'], ['sold', 'datetime'], ['place', 'categorical'], ['city', 'cities'], ['birth', 'cities'], ['work', 'cities']].flatMap(([input, kind], k) =>
    range(countOf[kind] ?? 31).map((i) => {
      const x = valueOf[kind](i);
      const mean = 22 + 4 * Math.sin(i / 9 + k);
      const own = 0.5 + 0.04 * Math.abs(i - 15);
      return { input, kind: kind === 'cities' ? 'categorical' : kind, x, mean, lower: mean - 3 - own, upper: mean + 3 + own, epistemic_lower: mean - 2 * own, epistemic_upper: mean + 2 * own };
    }),
  );

const predicted = () =>
  ['left out', 'test.csv'].flatMap((region) =>
    range(60).map(() => {
      const mean = 22 + 6 * normal();
      return { region, actual: mean + 2 * normal(), predicted: mean, lower: mean - 4, upper: mean + 4 };
    }),
  );

const importance = () => [['age', 0.62, 0.5, 0.7], ['place', 0.3, 0.2, 0.4], ['rooms', 0.09, 0.02, 0.12], ['tax', -0.01, -0.03, 0.01]].map(([column, share, lower, upper]) => ({ column, share, lower, upper }));

const classes = ['no', 'perhaps', 'yes'];

const classResponse = () =>
  [['rooms', 'numeric'], ['sold', 'datetime'], ['place', 'categorical']].flatMap(([input, kind]) =>
    range(kind === 'categorical' ? 4 : 31).flatMap((i) => {
      const odds = classes.map((_, k) => Math.exp(Math.sin(i / 9 + 2 * k)));
      const all = odds.reduce((sum, one) => sum + one);
      return classes.map((name, k) => ({ input, kind, x: valueOf[kind](i), class: name, probability: odds[k] / all }));
    }),
  );

const reliability = () =>
  ['left out', 'test.csv'].flatMap((region, r) => range(9).map((k) => ({ region, rows: 5 + k * k, confidence: 0.37 + k / 15, accuracy: 0.35 + k / (15 + r) })));

const confusion = () =>
  ['left out', 'test.csv'].flatMap((region) =>
    classes.flatMap((name, k) => classes.map((predicted, j) => ({ region, class: name, predicted, rows: k === j ? 80 : 10, share: k === j ? 0.8 : 0.1 }))),
  );

const certificate = () => [
  { name: 'negative messages', value: 0, about: 'messages that took precision away' },
  { name: 'share below two', value: 0.031, about: 'product messages whose signal is below twice their noise' },
];

const verdicts = (figure) => [
  { figure, ours: '0.62', paper: '0.80', verdict: 'agrees', why: '' },
  { figure: 'calibration, median Δ', ours: '−0.02', paper: '−0.09', verdict: 'differs', why: 'The paper takes the first 20 seeds; over 200 it is closer to zero.' },
  { figure: 'tasks that failed', ours: '0 of 200', paper: '', verdict: 'beyond', why: '' },
];

const experiment = (name, figures, rows = []) => ({
  experiment: name,
  about: `about ${name}`,
  settings: { tasks: 200, network: '8-6-5-1', seeds: [1, 2, 3], noise: { deviation: 0.2 } },
  summary: { direct: { seeds: 200, extrapolation_nll_median: 0.6234 } },
  rows,
  verdicts: verdicts('extrapolation NLL, median'),
  figures,
  seconds: 83.4,
});

const scores = methods.map((method, m) => ({ method, seeds: 200, extrapolation_nll_median: 0.6234 + m, failures: m, paper_extrapolation_nll_median: 0.8 }));

const ownRows = {
  'long-runs': ['full', 'average', 'none'].flatMap((method, m) => [1, 10, 40, 100, 400].map((epochs) => ({ method, epochs, held_out_log_likelihood: -1 - (m * epochs) / 400 }))),
  settling: ['cavity, direct', 'cavity, linear', 'belief, direct', 'belief, linear'].flatMap((method, m) =>
    [0.04, 0.09, 0.25].flatMap((noise_variance) => [1, 5, 20].map((batch_size) => ({ method, noise_variance, batch_size, last_movement: 10 ** -(m * 2 + noise_variance * 10) / batch_size }))),
  ),
};

const snr = ['product', 'leaky_relu'].flatMap((factor) =>
  ['direct', 'linear'].flatMap((rule, m) =>
    [1, 2, 5, 10, 20, 50, 100].map((r) => {
      const kl = (m + 1) / (40 * r * r);
      return { factor, rule, r, kl_quadrature: kl, kl_quadrature_r2: kl * r * r, kl_histogram: kl + 5e-4, histogram_bias: 5e-4 };
    }),
  ),
);

const width = [1, 0.1, 0.01, 0.001];
const consistency = ['product', 'leaky_relu'].flatMap((factor) =>
  ['direct', 'linear'].map((rule, m) => ({ factor, to: 'x', rule, at: 'x 1.5', width, delta: width.map((w) => (m + 1) * w * w), last_delta: 1e-6, vanishes: true })),
);

const pathologies = ['product', 'relu', 'network', 'network, one sweep', 'joint'].flatMap((set, s) =>
  ['direct', 'linear', 'ep', 'ep_skip', 'vmp', 'adf'].map((engine, e) => ({
    set,
    engine,
    negative_precision_share: e === 2 ? 0.02 * s : 0,
    failure_share: e === 2 ? s / 4 : 0,
    median_kl: e === 4 || s === 4 ? null : 10 ** -(s + e / 2),
    median_sweeps: 2,
  })),
);

export const reproduction = () => ({
  kind: 'reproduction',
  version: 'fixture',
  experiments: [
    experiment('regression', { band: band(['direct', 'linear', 'mixture', 'default'], [1]), points: points([1]), weights: weights(), convergence: convergence(['direct', 'linear']), tasks: tasks(methods.slice(0, 4)) }, scores),
    experiment('adam', { convergence: convergence(['linear', 'adam']), band: band(['linear', 'adam'], [1]), points: points([1]) }),
    experiment('adamw', { tasks: tasks(['linear', 'adam', 'adamw']) }),
    experiment('ivon', { sweep: sweep(), convergence: convergence(['linear', 'ivon']), band: band(['linear', 'ivon'], [1]), points: points([1]) }),
    experiment('laplace', { band: band(['linear', 'laplace'], [1]), times: times(['linear', 'laplace']) }),
    experiment('calibration', { calibration: calibration(['direct', 'linear', 'laplace']) }),
    experiment('mismatch', { tasks: tasks(['direct', 'linear', 'adam']) }),
    experiment('large', { convergence: convergence(['direct', 'linear', 'adam']), band: band(['direct', 'linear'], [1, 2, 3, 4]), points: points([1, 2, 3, 4]), times: times(['direct', 'linear', 'adam', 'ivon']) }),
    experiment('exact', { marginals: marginals(), tasks: tasks(['linear', 'exact']) }),
    experiment('snr', {}, snr),
    experiment('consistency', {}, consistency),
    experiment('pathologies', {}, pathologies),
    experiment('long-runs', {}, ownRows['long-runs']),
    experiment('settling', {}, ownRows.settling),
    experiment('unheard-of', { pit: pit() }, [{ method: 'direct', value: 1.25, holds: true, nothing: null }]),
    { experiment: 'almost-empty' },
  ],
});

export const report = () => ({
  kind: 'report',
  version: 'fixture',
  model: 'houses </script><b>"quoted"',
  targets: ['price'],
  facts: [
    { name: 'rows', value: 506 },
    { name: 'network', value: '13-20-1' },
    { name: 'noise_std', value: 1.586 },
    { name: 'cavity NLL', value: 2.1796 },
  ],
  figures: { predicted: predicted(), importance: importance(), response: response(), calibration: calibration(['held out']), pit: pit(), training: training(), certificate: certificate() },
});

// Of a target with long numbers on a logarithmic axis, and of a column with a long name.
export const amountReport = () => {
  const { facts, figures, ...others } = report();
  const inCents = (row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, typeof value === 'number' && key !== 'x' ? Math.max(1, value) * 150000 : value]));
  return {
    ...others,
    target_scale: 'log',
    facts: [...facts, { name: 'numeric', value: 'price_of_the_house_in_the_year_before_last_year' }],
    figures: { response: figures.response.map(inCents), predicted: figures.predicted.map(inCents), training: figures.training },
  };
};

export const classReport = () => ({
  kind: 'report',
  version: 'fixture',
  model: 'visits',
  targets: ['comes'],
  facts: [{ name: 'rows', value: 300 }, { name: 'target', value: 'comes: class, 3 of them' }],
  figures: { importance: importance(), response: classResponse(), reliability: reliability(), confusion: confusion(), training: training(), certificate: certificate() },
});

const variable = (name, plate, text, state = '') => ({ name, plate, text, is_array: plate !== '', state, moving: state === 'moving' ? 3 : 0, improper: state === 'improper' ? 1 : 0 });
const factor = (name, type, plate, factors, edges) => ({ name, type, plate, factors, edges });

export const factorGraph = () => ({
  kind: 'graph',
  version: 'fixture',
  model: 'league </script><b>"quoted"',
  about: 'Strengths of teams, from goals',
  facts: [{ name: 'variables', value: 46 }, { name: 'engine', value: 'direct, rule direct' }, { name: 'converged', value: false }],
  graph: {
    plates: [{ name: 'match', size: 1200 }, { name: 'team', size: 4 }],
    types: [{ factor: 'prior', factors: 5 }, { factor: 'sum', factors: 1200 }, { factor: 'observation', factors: 1200 }],
    variables: [
      variable('home advantage', '', '0.4 ± 0.05'),
      variable('strength <of> a team with a long name', 'team', '4 variables', 'moving'),
      variable('lead', 'match', '1200 variables'),
      variable('noise', '', 'precision -0.2', 'improper'),
    ],
    factors: [
      factor('prior#0', 'prior', '', 1, [0]),
      factor('prior#1 ... prior#4', 'prior', 'team', 4, [1]),
      factor('game', 'sum', 'match', 1200, [2, 0, 1]),
      factor('seen', 'observation', 'match', 1200, [2]),
      factor('equality#2405', 'equality', '', 1, [0, 3]),
    ],
  },
  variables: range(4).map((k) => ({ variable: `strength[${k}]`, mean: normal(), std: random(), movement: k === 2 ? null : random() })),
  messages: [{ factor: 'prior#0', to: 'home advantage', message: '0 ± 1', precision: 1 }],
  moving: [{ variable: 'strength[2]', mean: 1, std: 0.2, movement: 0.3 }],
  trouble: [{ factor: 'game[3]', to: 'lead[3]', sweep: 2, what: 'precision -0.2' }],
  figures: {
    beliefs: range(5).map((k) => ({ variable: `strength[${k}]`, mean: k, lower: k - 1, upper: k + 1 })),
    belief_rows: ['lead', 'skill, column 1'].flatMap((array) => range(60).map((row) => ({ array, row, mean: Math.sin(row / 9), lower: Math.sin(row / 9) - 1, upper: Math.sin(row / 9) + 1 }))),
  },
});

// One that is too large to be drawn.
export const largeFactorGraph = () => {
  const { graph, ...others } = factorGraph();
  return { ...others, graph: { types: graph.types }, messages: [], moving: [], trouble: [], variables: [] };
};
