// one block per element of P, the block shares the dot product
//!tilelab block=(128,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float part[128];
    int row = blockIdx.y, col = blockIdx.x, t = threadIdx.x;
    float s = 0.0f;
    for (int k = t; k < Width; k += 128)
        s += M[row * Width + k] * N[k * Width + col];
    part[t] = s;
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride)
            part[t] += part[t + stride];
        __syncthreads();
    }
    if (t == 0) P[row * Width + col] = part[0];
}
