//!tilelab block=(32,2) grid=(1,Width)
__device__ float rowOf[128][128];
__device__ int flag[128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x, row = blockIdx.y;
    if (threadIdx.y == 0) {
        for (int k = lane; k < Width; k += 32) rowOf[row][k] = M[row * Width + k];
        __threadfence();
        __syncwarp();
        if (lane == 0) atomicExch(&flag[row], 1);
    } else {
        if (lane == 0) while (atomicAdd(&flag[row], 0) == 0) { }
        __syncwarp();
        __threadfence();
        for (int col = lane; col < Width; col += 32) {
            float sum = 0;
            for (int k = 0; k < Width; ++k) sum += rowOf[row][k] * N[k * Width + col];
            P[row * Width + col] = sum;
        }
        __syncwarp();
        if (lane == 0) atomicExch(&flag[row], 0);
    }
}
