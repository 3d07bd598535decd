#include <stdlib.h>
int* hostA = NULL;
float *gold = NULL, timeOnCPU = 0.0f;
const char* TITLE = "matrix multiplication";
static unsigned long long elements = 1024ull * 1024ull;
#define BLOCK_WIDTH 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int numCols) {
    int rowId = blockIdx.y * blockDim.y + threadIdx.y;
    int colId = blockIdx.x * blockDim.x + threadIdx.x;
    if (rowId < numCols && colId < numCols) {
        float value = 0.0f;
        for (int k = 0; k < numCols; k++) value += A[rowId * numCols + k] * B[k * numCols + colId];
        C[rowId * numCols + colId] = value;
    }
}
