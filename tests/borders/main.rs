//! The library as programs in C and C++ see it: the committed header is the code's, and programs
//! that are compiled against it run, under AddressSanitizer and Valgrind too where they are.

mod header;
mod programs;
