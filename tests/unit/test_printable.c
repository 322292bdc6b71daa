/* What is printed of text from outside, and what may be a name. */
#include "base/names.h"
#include "portolan/printable.h"
#include "test.h"

static const struct {
    const char *text;
    const char *escaped;
} odd[] = {
    {"\x1b[2J", "\\u001b[2J"},
    {"a\nb\tc\r", "a\\u000ab\\u0009c\\u000d"},
    {"\x7f", "\\u007f"},
    {"\xc2\x9b"
     "2J",
     "\\u009b2J"},           /* a C1 control */
    {"\xc2\x85", "\\u0085"}, /* NEL, which XML and YAML take for the end of a line */
    {"\xd8\x9c", "\\u061c"}, /* from here on marks of the direction of text */
    {"\xe2\x80\x8e\xe2\x80\x8f", "\\u200e\\u200f"},
    {"\xe2\x80\xae"
     "cba",
     "\\u202ecba"},
    {"\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069"},
    {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"}, /* separators of lines and paragraphs */
    {"\xef\xbb\xbf", "\\ufeff"},
    {"\xef\xbf\xbe\xef\xbf\xbf", "\\ufffe\\uffff"},
    {"\x9b"
     "2J",
     "\\u009b2J"}, /* from here on malformed */
    {"\xe9t\xe9", "\\u00e9t\\u00e9"},
    {"\xc0\x8a", "\\u00c0\\u008a"},            /* an overlong line feed */
    {"\xed\xa0\x80", "\\u00ed\\u00a0\\u0080"}, /* a surrogate */
    {"\xf4\x90\x80\x80", "\\u00f4\\u0090\\u0080\\u0080"},
    {"\xf8\x88\x80\x80\x80", "\\u00f8\\u0088\\u0080\\u0080\\u0080"},
    {"\xe2\x82", "\\u00e2\\u0082"}, /* cut */
};

TEST(what_a_terminal_would_obey_is_escaped) {
    char escaped[64];
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_string_equal(pto_escape_text(odd[i].text, escaped, sizeof escaped), odd[i].escaped);
}

TEST(letters_of_any_script_stay) {
    static const char text[] = "H200 \xc3\xa9\xce\xb1\xe6\x97\xa5\xf0\x9f\x9a\x80 $(\\)'\"";
    char escaped[64];
    assert_string_equal(pto_escape_text(text, escaped, sizeof escaped), text);
    assert_int_equal(pto_name_check(text, PTO_NAME_BYTES_MAX, NULL), PTO_OK);
}

TEST(every_byte_alone_is_printed_safely) {
    for (int byte = 1; byte < 256; byte++) {
        char text[] = {(char)byte, '\0'}, escaped[PTO_ESCAPED_MAX];
        assert_int_equal(pto_escape(text, escaped), 1);
        assert_int_equal(strlen(escaped), byte >= ' ' && byte < 0x7f ? 1 : 6);
        for (const char *at = escaped; *at; at++)
            assert_true(*at >= ' ' && *at < 0x7f);
    }
}

TEST(a_text_is_cut_between_characters) {
    char escaped[8];
    assert_string_equal(pto_escape_text("abcd\nef", escaped, sizeof escaped), "abcd");
    assert_string_equal(pto_escape_text("a\nb", escaped, sizeof escaped), "a\\u000a");
    assert_string_equal(pto_escape_text("abcdef\xc3\xa9", escaped, sizeof escaped), "abcdef");
}

TEST(a_name_is_one_line_of_characters_that_can_be_printed) {
    pto_error_t err;
    char name[PTO_NAME_BYTES_MAX + 2];
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(pto_name_check(odd[i].text, PTO_NAME_BYTES_MAX, &err), PTO_ERR_RANGE);
    assert_int_equal(pto_name_check("a\nb", PTO_NAME_BYTES_MAX, &err), PTO_ERR_RANGE);
    assert_string_equal(err.message, "'a\\u000ab' has a character that cannot be printed");
    assert_int_equal(pto_name_check("", PTO_NAME_BYTES_MAX, &err), PTO_ERR_RANGE);
    memset(name, 'x', sizeof name);
    name[PTO_NAME_BYTES_MAX + 1] = '\0';
    assert_int_equal(pto_name_check(name, PTO_NAME_BYTES_MAX, &err), PTO_ERR_TOO_LARGE);
    assert_int_equal(pto_name_check(name + 1, PTO_NAME_BYTES_MAX, &err), PTO_OK);
}

TEST(a_word_is_nothing_that_a_shell_interprets) {
    static const char *const refused[] = {"",    "-x",       "a b", "$(a)", "`a`", "a;b",
                                          "a/b", "\xc3\xa9", "a\n", "~",    "*"};
    assert_true(pto_name_is_word("h200-x4_b.c+d"));
    assert_true(pto_name_is_word("1"));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(pto_name_is_word(refused[i]));
}
