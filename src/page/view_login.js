// The login.
import { login } from './api.js';
import { element } from './dom.js';

function field(name, label, type, complete) {
  return element(
    'div',
    { class: 'field wide' },
    element('label', { for: `login-${name}` }, label),
    element('input', { id: `login-${name}`, name, type, autocomplete: complete, required: type === 'password' }),
  );
}

// Shows the login in root. done() is called after a login that succeeded.
export function viewLogin(root, done) {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true });
  const send = element('button', { type: 'submit', class: 'primary' }, 'Log in');
  const form = element(
    'form',
    {
      class: 'card login',
      onsubmit: async (event) => {
        event.preventDefault();
        const values = new FormData(form);
        send.disabled = true;
        problem.hidden = true;
        try {
          await login(values.get('user') || 'default', values.get('password'));
          done();
        } catch (error) {
          problem.textContent = error.message;
          problem.hidden = false;
          form.elements.password.select();
        }
        send.disabled = false;
      },
    },
    element('img', { src: 'icon.svg', alt: '', width: 44, height: 44 }),
    element('h1', {}, 'pgdisque'),
    field('user', 'User', 'text', 'username'),
    field('password', 'Password', 'password', 'current-password'),
    problem,
    send,
  );

  form.elements.user.value = 'default';
  root.replaceChildren(element('main', { class: 'login-page', id: 'main' }, form));
  form.elements.password.focus();
}
