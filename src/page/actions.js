// Buttons that run a command. A button shows the server's error. It stays disabled after a refusal for lack of a right.
import { CommandError, noteRefusal, refusalOf } from './api.js';
import { keyOf } from './bytes.js';
import { button } from './dom.js';
import { tellError } from './toast.js';

// Shows the error of an action. An aborted request belongs to a view that the user has left.
export function report(error) {
  if (error.name !== 'AbortError') tellError(error.message);
}

function disable(node, text) {
  node.disabled = true;
  node.title = text;
}

/*
 * A button of a command that changes something. needs: { command, name } of the right that it uses. work(node) runs the
 * command.
 */
export function actionButton(label, needs, work, attributes = {}) {
  const name = needs.name === undefined ? '' : keyOf(needs.name);
  const node = button(
    label,
    async () => {
      node.setAttribute('aria-busy', 'true');
      try {
        await work(node);
      } catch (error) {
        if (error instanceof CommandError && error.code === 'NOPERM') {
          noteRefusal(needs.command, name, error);
          disable(node, error.message);
        }
        report(error);
      }
      node.removeAttribute('aria-busy');
    },
    attributes,
  );
  const refusal = refusalOf(needs.command, name);
  if (refusal !== undefined) disable(node, refusal);
  return node;
}
