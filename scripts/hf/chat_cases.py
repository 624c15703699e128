"""Chat templates with what Jinja makes of them, for the tests of hf/chat.

  python scripts/hf/chat_cases.py        needs jinja2 3.1.6 from PyPI
"""
import json
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def raise_exception(message):
    raise ValueError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception

conversations = [
    [{"role": "user", "content": "Hello <world> & \"all\""}],
    [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "  2+2? "}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4"}, {"role": "user", "content": "naïve café 😀"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
    [],
]

templates = [
    # The turns in marks, with a usual instruction.
    "{% for m in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    # Brackets, a system text within the first turn, turns that must alternate.
    "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system = false %}{% endif %}"
    "{% for message in rest %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}"
    "{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content | trim + ' ' + eos_token }}{% endif %}{% endfor %}",
    # White space in all forms.
    """{{- bos_token }}
{%- if messages and messages[0].role == "system" %}
    {%- set system = messages[0].content | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}

{{- "<|header|>system<|end|>\\n\\n" }}
{%- for message in messages %}
    {{- '<|header|>' + message['role'] + '<|end|>\\n\\n' + message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt -%}
    {{ '<|header|>assistant<|end|>\\n\\n' }}
{%- endif %}
""",
    "a\n  {% if true %}\n  b\n  {% endif %}\n  {# note #}\n c {%- if false %} x {% endif -%} d\n\n {%+ if true %} e {% endif +%}\n f {{ 1 }}\n g\n\n",
    "{% for m in messages %}\n    {% if m.role == 'user' %}\n  U: {{ m.content }}\n    {% else %}\nO: {{ m.content }}\n    {% endif %}\n{% endfor %}\nend\n",
    # A namespace over turns from the last to the first, and texts cut at marks.
    """{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not (message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last or loop.last %}{{- reasoning }}|{% endif %}
        {{- message.role ~ ':' ~ content }}
    {%- else %}
        {{- message.role + ':' + content + (';' if not loop.last else '') }}
    {%- endif %}
{%- endfor %}
{{- ns.last }}""",
    # Macros, tools, JSON.
    """{% macro show(role, text='none', n=1) %}<{{ role }}{{ '!' * n }}>{{ text }}{% endmacro %}
{% for m in messages %}{{ show(m.role, m.content, n=loop.index) }}{% else %}{{ show('nobody') }}{% endfor %}
{{ messages | tojson }} {{ {'b': [1, 2.5, none, true], 'a': {}} | tojson(indent=2) }} {{ [] | tojson }}""",
    # Filters, tests, operators.
    "{{ messages | map(attribute='role') | join(', ') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | rejectattr('role', 'eq', 'user') | map(attribute='content') | map('upper') | join('/') }}",
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3 + 4 }} {{ 2 + 3 * 4 }} {{ (2 + 3) * 4 }} {{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' in 'abc' }} {{ 'd' not in ['a'] }} {{ not 1 == 2 }} {{ -3 | string + 'x' }}",
    "{{ missing is defined }} {{ missing | default('d') }} {{ '' | default('e', true) }} {{ missing or 'f' }} {{ none is none }} {{ 3 is odd }} {{ 3 is number }} {{ 'x' is string and {} is mapping }} {{ [1] is iterable }} {{ missing }}|",
    "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'hello world'.title() }} {{ 'HELLO'.capitalize() }} {{ 'x-y'.replace('-', '+') }} {{ 'abc'[1] }} {{ 'abcdef'[1:4] }} {{ 'abc'[::-1] }} {{ [1,2,3][-1] }} {{ [1,2,3][-2:] }} {{ (1, 2)[0] }}",
    "{% for k, v in {'x': 1, 'y': [2, 'z']}.items() %}{{ k }}={{ v }};{% endfor %} {{ {'a': 1}.get('b', 5) }} {{ {'a': 1}['a'] }} {{ {'a': 1}.a }} {{ {'a': 1}.b is defined }} {{ ['it\\'s', \"q\"] }} {{ 1.0 }} {{ 1e3 if false else 0.25 }} {{ true }}",
    "{% for i in range(6) if i % 2 == 0 %}{{ loop.index }}{{ loop.last }}{{ loop.revindex }}{{ loop.previtem if loop.previtem is defined else '-' }}{% if i == 4 %}{% break %}{% endif %}{% if i == 2 %}{% continue %}{% endif %}.{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}{% set y %}<{{ x }}>{% endset %}{{ y * 2 }}{% if x == 1 %}{% set x = 9 %}{% endif %}{{ x }}",
    "{{ messages[0]['nothing'] }}{{ messages[0].nothing.more }}",
    "{{ undefined_function('x') }}",
    "{{ 'a' + 1 }}",
]

cases = []
for source in templates:
    for messages in conversations:
        for prompt in (False, True):
            case = {"template": source, "messages": messages, "prompt": prompt}
            try:
                case["want"] = env.from_string(source).render(messages=messages, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>")
            except Exception:
                case["fails"] = True
            cases.append(case)
Path(__file__).resolve().parents[2].joinpath("hf/chat/testdata/cases.json").write_text(json.dumps(cases, indent=0) + "\n")
