// Three kinds of elements, each with its own operation: element i is of kind i % 3.
//
// This kernel is correct, but every warp has elements of all three kinds. Give the threads of a warp elements of one
// kind instead. The block has 96 threads, three warps.
//
// Check it with:  tilelab grade starter.cu --exercise divergence

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    float value = In[i];
    if (threadIdx.x % 3 == 0) {
        for (int r = 0; r < rounds; ++r) {
            value += 1.0f;
        }
    } else if (threadIdx.x % 3 == 1) {
        for (int r = 0; r < rounds; ++r) {
            value -= 1.0f;
        }
    } else {
        for (int r = 0; r < rounds; ++r) {
            value *= 2.0f;
        }
    }
    Out[i] = value;
}
