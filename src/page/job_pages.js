// Reads a list of jobs in pages, and its first page again from time to time.
import { count } from './format.js';
import { jobList } from './jobs.js';

// The page does not repeat a search through more jobs than this.
const LOOKED_MAX = 10000;
// Jobs in these states do not change. The page reads their list again only if their number has changed.
export const AT_REST = ['dead', 'done'];

/*
 * options() returns the options of jobList(). show(page) draws { n, jobs, more, looked, total }. n: the number of the page.
 * more: further jobs follow. looked: the number of jobs at which the server has looked. total: that of options(). tell(text)
 * shows the progress of a long search, or an error. Returns { begin(), go(n), refresh() }.
 */
export function jobPages({ size, options, signal, show, tell }) {
  let stop = new AbortController();
  let list = null;
  let shown = { n: 0, jobs: [], more: false, looked: 0, total: undefined };
  let busy = false;

  function draw(page) {
    shown = page;
    show(page);
  }

  // Does nothing while the list is read: a list cannot read two pages at once.
  async function go(n) {
    if (busy) return;
    const source = list;
    const looking = (looked) => {
      if (looked > LOOKED_MAX && source === list) tell(`The server has looked at ${count(looked)} jobs …`);
    };
    busy = true;
    try {
      const page = await source.page(n, size, looking);
      if (source !== list) return;
      const { looked } = page;
      tell(
        looked > LOOKED_MAX
          ? `The server has looked at ${count(looked)} jobs. This list is not refreshed by itself.`
          : '',
      );
      draw({ n, total: options().total, ...page });
    } catch (error) {
      if (source === list) tell(error.name === 'AbortError' ? '' : error.message);
    } finally {
      if (source === list) busy = false;
    }
  }

  // Reads the first page of a new list.
  function begin() {
    stop.abort();
    stop = new AbortController();
    busy = false;
    list = jobList({ ...options(), signal: AbortSignal.any([signal, stop.signal]) });
    return go(0);
  }

  // Reads the first page again. Asks the server for nothing if the number of jobs says that nothing has changed, or if the
  // search is long.
  async function refresh() {
    const { state, total } = options();
    if (busy || shown.n > 0 || shown.looked > LOOKED_MAX) return;
    if (total === shown.total && (total === 0 || AT_REST.includes(state))) return void draw(shown);
    const source = list;
    const fresh = jobList({ ...options(), signal: stop.signal });
    const page = await fresh.page(0, size, (looked) => looked <= LOOKED_MAX).catch(() => null);
    if (signal.aborted || page === null || page.looked > LOOKED_MAX || source !== list || busy || shown.n > 0) return;
    list = fresh;
    draw({ n: 0, total, ...page });
  }

  return { begin, go, refresh };
}
