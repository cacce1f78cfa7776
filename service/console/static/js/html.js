// Templates: the names of the libraries that the modules of the console use.

import htm from '../vendor/htm.js';
import { h } from '../vendor/preact.js';

export { render } from '../vendor/preact.js';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.js';
export { computed, signal } from '../vendor/signals.js';

export const html = htm.bind(h);
