#include <cuda_runtime.h>

/*
 * 每个线程计算结果矩阵的一个元素（朴素版本）。
 */
__global__ void MatrixMulKernel(float *M_device, float *N_device, float *P_device, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;  // 列
    int y = blockIdx.y * blockDim.y + threadIdx.y;  // 行
    if (x >= width || y >= width) return;           // 越界检查

    float P_element = 0;
    for (int k = 0; k < width; k++) {
        P_element += M_device[y * width + k] * N_device[k * width + x];
    }
    P_device[y * width + x] = P_element;
}
