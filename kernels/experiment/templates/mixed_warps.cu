// Element i of an array is of kind i % 3, and each kind needs another operation. Here, thread i takes element i.
//
// So every warp has threads of all three kinds. It takes all three paths, one after the other, and two thirds of its
// threads wait on each path.

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int kind = threadIdx.x % 3;

    float value = In[i];
    if (kind == 0) {
        for (int r = 0; r < rounds; ++r) {
            value += 1.0f;
        }
    } else if (kind == 1) {
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
