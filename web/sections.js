// What the page says about each chart and each experiment.

// The texts of each chart, by name. The chart is charts/NAME.json, unless `chart` names another. Standard charts are
// drawn in every section that has their data.
export const figures = {
  predicted: {
    title: 'Predicted against actual',
    caption: 'A dot per row, of a large table 500 of them: across what was predicted, up what it is. The closer to the dashed diagonal, the better. Grey: the 95 % interval of each prediction; 19 of 20 dots should be in theirs. Rows of training were predicted by networks that had not learnt them.',
    alternative: 'Scatter plots, one per set of rows: the actual value of each row against its prediction, with the 95 % interval of the prediction and the diagonal.',
  },
  importance: {
    title: 'Which columns matter',
    caption: 'How much of what the prediction varies from row to row is due to a column; together they make 100 %. Line: nine tenths of what the model considers possible. Of columns that go together each counts by what the prediction takes from it, not by what it could tell alone.',
    alternative: 'Bar chart: the share of every column in the variance of the prediction, the largest first, with a line for its uncertainty.',
  },
  beliefs: {
    title: 'Beliefs',
    caption: 'Dot: the mean of each variable. Line: two standard deviations to either side. Arrays of more than 40 variables have charts of their own.',
    alternative: 'Dots with intervals: mean and two standard deviations of every variable.',
  },
  'belief-rows': {
    title: 'Beliefs about large arrays',
    caption: 'Line: the mean of each variable, in the order of the rows; of very large arrays every n-th. Band: two standard deviations to either side.',
    alternative: 'Line charts, one per array: the mean of its variables by row, with a band of two standard deviations.',
  },
  band: {
    standard: true,
    title: 'Prediction and its uncertainty',
    caption: 'Line: predicted mean. Band: two standard deviations to either side. Dashed: the function that generated the data. Dots: training rows. Bands are cut off at the frame.',
    alternative: 'Small multiples, one per method: predicted mean over x with a band of two standard deviations, the true function dashed, the training rows as dots.',
  },
  convergence: {
    standard: true,
    title: 'Training likelihood by epoch',
    caption: 'Negative log-likelihood of the training rows after each epoch; lower is better. Values above 8 are drawn at 8.',
    alternative: 'Line chart: training negative log-likelihood by epoch, one line per method.',
  },
  tasks: {
    standard: true,
    title: 'Every task',
    caption: 'One dot per task; smaller is better. The bar spans the middle half of the tasks and the large dot is their median. Tasks on which a method failed are not drawn.',
    alternative: 'Strip plot: negative log-likelihood outside the training range for every task, one strip per method, with median and quartiles.',
  },
  calibration: {
    standard: true,
    title: 'Calibration',
    caption: 'Share of true values inside the central interval of each level. On the dashed diagonal the intervals are right; below it they are too narrow.',
    alternative: 'Line charts, one per region: share of values inside the interval against its level, with the diagonal.',  },
  sweep: {
    standard: true,
    title: 'Sensitivity to the settings',
    caption: 'Training negative log-likelihood for each learning rate (across) and each pair of β₂ and damping (down). Cross: diverged.',
    alternative: 'Heat maps: training negative log-likelihood by learning rate and by β₂ with damping, the smallest over the epochs and the last.',
  },
  times: {
    standard: true,
    title: 'Time',
    caption: 'Milliseconds, on a logarithmic axis.',
    alternative: 'Dot plots: milliseconds per method, one chart per task.',
  },
  weights: {
    standard: true,
    title: 'Beliefs about the weights',
    caption: 'One square per weight. Area: size of the mean. Colour: its sign. The more solid, the larger the mean is relative to its standard deviation.',
    alternative: 'Hinton diagrams, one per layer: one square per weight, sized by its mean, coloured by its sign, and more solid the more certain it is.',
  },
  marginals: {
    standard: true,
    title: 'Marginals',
    caption: 'Shaded: the exact density. Lines: the marginal of each method.',
    alternative: 'Line charts, one per setting and variable: density of each method’s marginal and of the exact one.',
  },
  pit: {
    standard: true,
    title: 'Probability integral transform',
    caption: 'How often the truth falls at each predicted probability. Flat at 1: calibrated. Higher in the middle: intervals too wide. Higher at the ends: too narrow.',
    alternative: 'Histograms of the probability integral transform, with the uniform density as a dashed line at 1.',
  },
  training: {
    standard: true,
    title: 'Training',
    caption: 'Negative log-likelihood after each epoch, one line per network, in the colour of its shape.',
    alternative: 'Line chart: negative log-likelihood by epoch, one line per network.',
  },
  'response-numbers': {
    standard: true,
    title: 'Response to each input',
    caption: 'The prediction as one input varies and the others stay at those of a typical row. Light band: 95 % interval. Dark band: the part of it that more rows could remove.',
    alternative: 'Small multiples, one per input: predicted mean with its 95 % interval and the epistemic part of it.',
  },
  'response-dates': {
    standard: true,
    title: 'Response to dates',
    caption: 'The same for inputs that are dates.',
    alternative: 'Small multiples, one per date: predicted mean with its 95 % interval and the epistemic part of it.',
  },
  'response-choices': {
    standard: true,
    title: 'Response to categories',
    caption: 'The same for inputs that are categories or a few whole numbers. Thin: 95 % interval. Thick: the part of it that more rows could remove.',
    alternative: 'Small multiples, one per input: predicted mean of every category with its 95 % interval and the epistemic part of it.',
  },
  reliability: {
    standard: true,
    title: 'Reliability',
    caption: 'Rows by the probability of the class that was predicted, and how often it was right. On the dashed diagonal the probabilities are right; below it they are too sure. Large dots: many rows.',
    alternative: 'Line charts, one per set of rows: share of rows that are right against the probability of their predicted class, with the diagonal.',
  },
  confusion: {
    standard: true,
    title: 'Predicted and actual class',
    caption: 'Rows by their class and the one predicted as the most probable. Colour: the share of the class.',
    alternative: 'Tables drawn as heat maps, one per set of rows: number of rows by true class and predicted class.',
  },
  'classes-numbers': {
    standard: true,
    title: 'Probability against each input',
    caption: 'The probability of each class as one input varies and the others stay at those of a typical row.',
    alternative: 'Small multiples, one per input: the probability of every class over the values of the input.',
  },
  'classes-dates': {
    standard: true,
    title: 'Probability against dates',
    caption: 'The same for inputs that are dates.',
    alternative: 'Small multiples, one per date: the probability of every class over time.',
  },
  'classes-choices': {
    standard: true,
    title: 'Probability by category',
    caption: 'The same for inputs that are categories or a few whole numbers.',
    alternative: 'Small multiples, one per input: the probability of every class for every category.',
  },
  'master-error': {
    title: 'Marginal error against message error',
    caption: 'Dots: the error of the marginal. Ticks: the theorem’s bound for the same setting, always above its dot.',
    alternative: 'Scatter plots on logarithmic axes, one per width of the incoming message: error of the marginal against error of the message, with the bound of each setting as a tick.',
  },
  'master-ratio': {
    title: 'How much of the bound is used',
    caption: 'Error of the marginal divided by its bound. The theorem says that no point lies above the dashed line.',
    alternative: 'Line charts, one per width of the incoming message: ratio of marginal error to bound against the signal-to-noise ratio, with a dashed line at 1.',
  },
  tightness: {
    title: 'Error and bound, one parameter at a time',
    caption: 'The other two parameters are fixed at r = 2, slope 0.3 or width 1.',
    alternative: 'Three line charts on a logarithmic axis: marginal error and bound over the signal-to-noise ratio, the slope, and the width of the incoming message.',
  },
  snr: {
    title: 'Error of the marginal against the signal-to-noise ratio',
    caption: 'Solid: by quadrature. Dotted: by the paper’s histogram of 500,000 samples, which levels off at its own bias. Dashed grey: 1/r². Values below 10⁻⁸ are not drawn.',
    alternative: 'Two line charts on logarithmic axes, product and leaky ReLU: KL of the marginal against r for both rules, by quadrature and by histogram, with a reference line that falls like 1/r².',
  },
  'copy-to-gaussian': {
    title: 'Log-normal to Gaussian',
    caption: 'The divergence is the same along each row: it depends on σ alone.',
    alternative: 'Heat map: KL divergence by mean and standard deviation of the logarithm; constant along the mean.',
  },
  'copy-to-lognormal': {
    title: 'Gaussian to log-normal',
    caption: 'Both axes double every second cell. The divergence is the same along each diagonal: it depends on r = μ/σ alone.',
    alternative: 'Heat map: KL divergence by mean and standard deviation of the Gaussian; constant along lines of equal ratio.',
  },
  consistency: {
    title: 'Message error as the inputs concentrate',
    caption: 'The inputs narrow from left to right. Conjugate factors are exact and not drawn. A flat line is an error that does not vanish: at the kink of the leaky ReLU, and for the linear rule with a wide message on its own edge.',
    alternative: 'Line charts on logarithmic axes, one per factor and direction: message error against the width of the inputs.',
  },
  'pathologies-shares': {
    title: 'Negative precisions and failures',
    caption: 'Single factors, one training example on a network, and twenty examples that share its weights (joint).',
    alternative: 'Dot plots by engine and set of graphs: share of messages with negative precision, share of graphs on which inference failed.',
  },
  'pathologies-error': {
    title: 'Distance from the exact marginal',
    caption: 'Median over the variables. VMP is not drawn: its point masses are infinitely far away. On joint graphs no exact marginal is known.',
    alternative: 'Dot plot by engine and set of graphs: median KL divergence from the exact marginal.',
  },
  'long-runs': {
    title: 'Held-out likelihood after many epochs',
    caption: 'Higher is better. Without a ledger, every epoch counts the data again.',
    alternative: 'Line chart: held-out log-likelihood against the number of epochs, one line per ledger mode.',
  },
  settling: {
    title: 'Movement in the last of 500 epochs',
    caption: 'The largest movement of a prediction, in its standard deviations. Below the dashed line training has settled.',
    alternative: 'Line charts, one per noise variance: movement of the predictions in the last epoch against the batch size.',
  },
};

// Figures of one method over many tasks, and the paper's.
const methodColumns = [
  'method', 'seeds', 'extrapolation_nll_median', 'extrapolation_nll_iqr', 'paper_extrapolation_nll_median', 'paper_extrapolation_nll_iqr',
  'calibration_delta_median', 'calibration_delta_iqr', 'paper_calibration_delta_median', 'epochs_median', 'paper_epochs_median', 'failures', 'negative',
];
const methodTables = [{ title: 'Methods', where: (row) => row.seeds != null, columns: methodColumns }];

export const sections = {
  regression: {
    title: 'Regression',
    paper: 'Paper: section 4.3, App. E.1',
    text: 'A network of 83 weights learns 200 rows of a function drawn from a network of the same shape, and predicts outside the range of these rows.',
    charts: ['band', 'weights', 'convergence', 'tasks'],    tables: methodTables,
  },
  adam: {
    title: 'Compared with Adam',
    paper: 'Paper: App. E.2',
    text: 'The same tasks, learnt by gradient descent with Adam. It is given the noise and has no uncertainty about the function: its band is equally wide everywhere.',
    charts: ['convergence', 'band', 'tasks'],    tables: methodTables,
  },
  adamw: {
    title: 'Compared with AdamW',
    paper: 'Paper: App. E.3',
    text: 'Adam with decoupled weight decay, at several strengths of decay.',
    charts: ['tasks', 'band', 'convergence'],    tables: methodTables,
  },
  ivon: {
    title: 'Compared with IVON',
    paper: 'Paper: App. E.5',
    text: 'A variational optimiser with its own uncertainty, at every combination of its settings: how much depends on choosing them well?',
    charts: ['sweep', 'convergence', 'tasks', 'band'],    tables: methodTables,
  },
  laplace: {
    title: 'Compared with the Laplace approximation',
    paper: 'Paper: App. E.6',
    text: 'A network trained to its mode, then given a Gaussian from the diagonal of the curvature there.',
    charts: ['band', 'tasks', 'times'],    tables: methodTables,
  },
  calibration: {
    title: 'Calibration',
    paper: 'Paper: App. E.7',
    text: 'How often the truth lies inside intervals of every level, inside and outside the range of the training rows.',
    charts: ['calibration', 'tasks'],    tables: methodTables,
  },
  mismatch: {
    title: 'A model that is too small',
    paper: 'Paper: App. F',
    text: 'The data come from a wider network than the one that learns them.',
    charts: ['band', 'tasks', 'convergence'],    tables: methodTables,
  },
  large: {
    title: 'A larger network',
    paper: 'Paper: App. G',
    text: '1,932 weights and four outputs: does the training likelihood reach the level of the noise, and does it stay there?',
    charts: ['convergence', 'band', 'calibration', 'times'],    tables: [{ title: 'Methods', columns: ['method', 'seeds', 'train_nll_epoch2', 'train_nll', 'paper_train_nll', 'epochs_to_tolerance', 'paper_epochs', 'train_nll_at_tolerance', 'extrapolation_nll_median', 'calibration_delta', 'paper_calibration_delta', 'milliseconds_per_epoch', 'failures', 'negative'] }],
  },
  exact: {
    title: 'Compared with exact inference',
    paper: 'Beyond the paper',
    text: 'The same tasks by Hamiltonian Monte Carlo, which does not approximate messages: how much of the error comes from the method, and how much from the model?',
    charts: ['band', 'tasks', 'calibration'],    tables: [...methodTables, { title: 'Chains', where: (row) => row.max_rhat != null, columns: ['seed', 'extrapolation_nll', 'extrapolation_nll_of_mixture', 'max_rhat', 'divergences'] }],
  },
  'master-theorem': {
    title: 'The master theorem',
    paper: 'Paper: App. C.1, Theorem dma-master',
    text: 'The error of a marginal is at most the error of a message times a constant. Both are computed for 192 settings of a leaky ReLU.',
    charts: ['master-error', 'master-ratio'],
    tables: [{ title: 'All settings', where: (row) => row.delta != null, columns: ['slope', 'incoming_width', 'r', 'delta', 'marginal_kl', 'bound', 'ratio'] }],
  },
  tightness: {
    title: 'How tight the bound is',
    paper: 'Paper: App. C.2',
    text: 'The same bound, with one parameter varied at a time.',
    charts: ['tightness'],
    tables: [{ title: 'Sweeps', where: (row) => row.sweep, columns: ['sweep', 'r', 'slope', 'incoming_width', 'delta', 'marginal_kl', 'bound', 'ratio'] }],
  },
  snr: {
    title: 'The rate 1/r²',
    paper: 'Paper: App. C.3',
    text: 'The more certain the inputs of a product or a leaky ReLU are relative to their size, the closer the backward message is to the exact one.',
    charts: ['snr'],
    tables: [{ title: 'Sweep', columns: ['factor', 'rule', 'r', 'kl_quadrature', 'kl_histogram', 'histogram_bias', 'effective_samples'] }],
  },
  copy: {
    title: 'Between Gaussian and log-normal',
    paper: 'Paper: App. C.4',
    text: 'The product’s backward message goes through log-normals: what does each change of family cost?',
    charts: ['copy-to-gaussian', 'copy-to-lognormal'],
    tables: [{ title: 'Cells', columns: ['step', 'mu', 'sigma', 'r', 'kl', 'kl_quadrature'] }],
  },
  product: {
    title: 'Marginals of a product',
    paper: 'Paper: App. C.5',
    text: 'z = x y with a message on each variable: the paper’s nominal setting, and one in which y may be close to zero.',
    charts: ['marginals'],
    tables: [{ title: 'Marginals', columns: ['setting', 'variable', 'method', 'mean', 'variance', 'exact_mean', 'exact_variance', 'kl', 'moment_kl'] }],
  },
  relu: {
    title: 'Marginals of a leaky ReLU',
    paper: 'Paper: App. C.6',
    text: 'Slope 0.1, x ~ N(1, 1): without an observation, and observed above, at and below the kink.',
    charts: ['marginals'],
    tables: [{ title: 'Marginals', columns: ['setting', 'variable', 'method', 'mean', 'variance', 'exact_mean', 'exact_variance', 'kl', 'moment_kl'] }],
  },
  consistency: {
    title: 'Consistency of every factor',
    paper: 'Paper: section 2, Corollary dirac-exact',
    text: 'As the inputs of a factor concentrate, its message has to become exact.',
    charts: ['consistency'],
    tables: [{ title: 'Ladders', columns: ['factor', 'to', 'rule', 'at', 'last_delta', 'rate', 'vanishes', 'remark'] }],
  },
  coverage: {
    title: 'Which theorem covers which message',
    paper: 'Paper: App. B.7',
    text: 'The paper’s table, compared with what the library’s factors declare.',
    tables: [
      { title: 'The paper’s table', where: (row) => row.table === 'paper', columns: ['factor', 'direction', 'proper', 'theorem', 'agrees'] },
      { title: 'The library’s messages', where: (row) => row.table === 'library', columns: ['factor', 'density', 'to', 'proper', 'theorem', 'conformance', 'agrees'] },
    ],
  },
  pathologies: {
    title: 'What goes wrong in EP, VMP and ADF',
    paper: 'Paper: Table 1, App. A.3',
    text: 'Six engines on the same graphs: 1,000 random neighbourhoods of a product and of a leaky ReLU each, 200 training examples of a network, and 20 that share its weights.',
    charts: ['pathologies-shares', 'pathologies-error'],
    tables: [{ title: 'Engines', columns: ['set', 'engine', 'negative_precision_share', 'failure_share', 'median_kl', 'kl_90', 'median_sweeps', 'dirac_variance_kept'] }],
  },
  'long-runs': {
    title: 'Long runs',
    paper: 'Beyond the paper',
    text: 'Why old messages are replaced: 400 epochs with a ledger of batch messages, compared with a filter that has none.',
    charts: ['long-runs'],
  },
  settling: {
    title: 'Where training settles',
    paper: 'Beyond the paper',
    text: 'Messages computed from the cavity or from the full belief, for batches of several sizes and noise assumed right or wrong.',
    charts: ['settling'],
  },
};

// The networks as in the paper, the messages, then the rest.
export const order = Object.keys(sections);

// What a reader of a fit looks for first, and the rest, which comes after the facts.
export const report = {
  first: ['predicted', 'confusion', 'importance'],
  then: ['response-numbers', 'response-choices', 'response-dates', 'classes-numbers', 'classes-choices', 'classes-dates', 'reliability', 'calibration', 'pit', 'training', 'weights'],
};

// Of inference on a factor graph.
export const graphCharts = ['beliefs', 'belief-rows'];
