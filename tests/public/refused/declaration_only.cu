#ifndef MATRIX_MUL_CUH
#define MATRIX_MUL_CUH
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width);
#endif
