template <class T> struct Box { T a, b; };
template <int N, class T> struct Nest { typedef typename Nest<N - 1, Box<T> >::type type; };
template <class T> struct Nest<0, T> { typedef T type; };
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = sizeof(Nest<60, int>::type); }
