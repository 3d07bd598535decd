#if __has_embed("@FILE@")
#define FACTOR 2
#else
#define FACTOR 3
#endif
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = FACTOR; }
